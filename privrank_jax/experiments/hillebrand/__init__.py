"""A study after Hillebrand, Manurangsi, Suppakitpaisarn and Vajanopath: private consensus within twice the optimum."""
