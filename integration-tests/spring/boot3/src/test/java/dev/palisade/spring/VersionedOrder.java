package dev.palisade.spring;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import jakarta.persistence.Version;

/** The same with a version, which finds out an entity that is out of date. */
@Entity
@Table(name = "versioned_orders")
class VersionedOrder {
    @Id
    private long id;

    private int amount;

    @Version
    private int version;

    /** For the ORM. */
    protected VersionedOrder() {}

    int amount() {
        return amount;
    }

    void setAmount(int amount) {
        this.amount = amount;
    }

    long id() {
        return id;
    }

    int version() {
        return version;
    }
}
