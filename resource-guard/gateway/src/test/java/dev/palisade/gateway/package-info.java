@org.jspecify.annotations.NullUnmarked
package dev.palisade.gateway;
