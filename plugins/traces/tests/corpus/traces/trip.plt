Geolife trajectory
WGS 84
Altitude is in Feet
Reserved 3
0,2
0
39.9,116.3,0,492,39744.1,2008-10-23,02:53:04
39.91,116.3,0,492,39744.2,2008-10-23,02:54:04
