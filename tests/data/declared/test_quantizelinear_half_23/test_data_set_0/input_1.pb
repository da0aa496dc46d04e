
Bx1JR4