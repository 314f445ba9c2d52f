"""Research on the DLDL paper: its printed tables, their audit, its theorems, and studies. Not part
of the wheel."""
