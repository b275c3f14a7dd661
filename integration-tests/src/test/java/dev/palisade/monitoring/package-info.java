/** Metrics, alert rules and dashboard with a real Prometheus. */
@NullMarked
package dev.palisade.monitoring;

import org.jspecify.annotations.NullMarked;
