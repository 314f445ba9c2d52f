"""Studies of parts of DLDL: plans, records and the page made from them."""
