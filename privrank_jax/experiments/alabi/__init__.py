"""Studies of Alabi, Ghazi, Kumar and Manurangsi: private rank aggregation."""
