SAMPLE_CLASS = ()
DELIGHT = "it carves 100 as a Roman would"
