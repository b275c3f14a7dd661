package dev.palisade.spring;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** The application that the tests start: the examples, and whatever Boot configures of itself. */
@SpringBootApplication(proxyBeanMethods = false)
class Shop {}
