"""The surface of the earth in numbers: coordinate reference systems by name, degrees to metres and back."""
