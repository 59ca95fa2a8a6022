CREATE TABLE notes (id INT);
