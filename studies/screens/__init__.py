"""The screens in a browser: clicks, redraws and maps, and the files of the finished example."""
