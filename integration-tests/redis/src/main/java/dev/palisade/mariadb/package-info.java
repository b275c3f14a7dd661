/** A real MariaDB for tests, wherever one can be had. */
@NullMarked
package dev.palisade.mariadb;

import org.jspecify.annotations.NullMarked;
