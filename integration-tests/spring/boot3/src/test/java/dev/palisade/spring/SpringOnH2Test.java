package dev.palisade.spring;

class SpringOnH2Test extends SpringTransactionsContract {
    @Override
    String url() {
        return "jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1";
    }

    @Override
    String user() {
        return "sa";
    }
}
