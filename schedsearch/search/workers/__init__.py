"""What runs the jobs of a search: this process, or Ray on one machine or many?"""
