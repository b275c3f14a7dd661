package dev.palisade.spring;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

/** A row of the orders that the examples guard. */
@Entity
@Table(name = "orders")
class Order {
    @Id
    private long id;

    private int amount;

    /** For the ORM. */
    protected Order() {}

    int amount() {
        return amount;
    }

    void setAmount(int amount) {
        this.amount = amount;
    }

    long id() {
        return id;
    }
}
