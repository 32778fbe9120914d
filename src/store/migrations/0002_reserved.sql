-- This number is taken by another change of the schema.
SELECT 1;
