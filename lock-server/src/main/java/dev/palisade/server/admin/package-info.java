/** The admin page of the lock server and the JSON API behind it, as requests and responses of HTTP without a transport. */
@NullMarked
package dev.palisade.server.admin;

import org.jspecify.annotations.NullMarked;
