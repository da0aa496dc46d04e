Bx3J
p¾x›Iÿiªý£