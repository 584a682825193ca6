"""Studies of Cai, Chakraborty and Wang (2025): ranking from comparisons under central privacy."""
