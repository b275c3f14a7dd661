package dev.palisade.monitoring;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.awaitility.core.ConditionFactory;
import org.openqa.selenium.By;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.StaleElementReferenceException;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;

/** A headless Chromium under its own driver, both from the PATH. */
final class Browser implements AutoCloseable {
    private static final Path IMAGES =
            Path.of(System.getProperty("palisade.root")).resolve("docs/images");

    private final ChromeDriver driver;

    private Browser(ChromeDriver driver) {
        this.driver = driver;
    }

    /** Skips the test where one of them is missing. */
    static Browser orSkip(Path home) {
        Optional<Path> chromium = found("chromium", "chromium-browser", "google-chrome");
        Optional<Path> chromedriver = found("chromedriver");
        assumeTrue(
                chromium.isPresent() && chromedriver.isPresent(),
                "no chromium and chromedriver on the PATH: the admin page is not tried in a browser");
        LoggingPreferences logs = new LoggingPreferences();
        logs.enable(LogType.BROWSER, Level.ALL);
        ChromeOptions options = new ChromeOptions();
        options.setBinary(chromium.orElseThrow().toFile());
        options.addArguments(
                "--headless=new",
                "--no-sandbox",
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--window-size=1000,800",
                "--user-data-dir=" + home.resolve("chromium"));
        options.setCapability("goog:loggingPrefs", logs);
        ChromeDriverService service = new ChromeDriverService.Builder()
                .usingDriverExecutable(chromedriver.orElseThrow().toFile())
                .withEnvironment(Map.of("HOME", home.toString()))
                .build();
        return new Browser(new ChromeDriver(service, options));
    }

    private static Optional<Path> found(String... names) {
        return Stream.of(System.getenv("PATH").split(File.pathSeparator, -1))
                .flatMap(folder -> Stream.of(names).map(name -> Path.of(folder, name)))
                .filter(Files::isExecutable)
                .findFirst();
    }

    /** Loads the page anew, without what it kept in memory. */
    void open(String address) {
        driver.get("about:blank");
        driver.get(address);
    }

    void type(String selector, String text) {
        WebElement input = awaited(selector);
        input.clear();
        input.sendKeys(text);
    }

    void click(String selector) {
        awaited(selector).click();
    }

    void clickLink(String text) {
        waiting().until(() -> {
            Optional<WebElement> link = driver.findElements(By.tagName("a")).stream()
                    .filter(each -> text.equals(each.getText()))
                    .findFirst();
            link.ifPresent(WebElement::click);
            return link.isPresent();
        });
    }

    /** A look costs the page less than its wait for the next one costs a test. */
    static ConditionFactory waiting() {
        return await().pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(20));
    }

    private WebElement awaited(String selector) {
        waiting().until(() -> count(selector) > 0);
        return driver.findElement(By.cssSelector(selector));
    }

    int count(String selector) {
        return driver.findElements(By.cssSelector(selector)).size();
    }

    /** Of the first such element; empty while there is none. */
    String text(String selector) {
        try {
            List<WebElement> found = driver.findElements(By.cssSelector(selector));
            return found.isEmpty() ? "" : found.get(0).getText();
        } catch (StaleElementReferenceException e) {
            return "";
        }
    }

    void awaitText(String selector, String text) {
        waiting().alias(selector + " has " + text).until(() -> text(selector).contains(text));
    }

    String attribute(String selector, String name) {
        return String.valueOf(awaited(selector).getDomAttribute(name));
    }

    long number(String script) {
        return ((Number) Objects.requireNonNull(driver.executeScript("return Math.round(" + script + ")"))).longValue();
    }

    /** As on a phone of that size: a window cannot be that narrow. */
    void resize(int width, int height) {
        driver.executeCdpCommand(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", width < 500));
    }

    /** For the docs, where asked for by {@code -Dpalisade.screenshots=true}. */
    void screenshot(String name) throws IOException {
        if (Boolean.getBoolean("palisade.screenshots")) {
            resize(1_000, 1_080);
            Files.write(IMAGES.resolve(name + ".png"), driver.getScreenshotAs(OutputType.BYTES));
            resize(1_000, 800);
        }
    }

    /** Lines of the console since the last call. */
    List<String> console() {
        return driver.manage().logs().get(LogType.BROWSER).getAll().stream()
                .map(entry -> entry.getLevel() + " " + entry.getMessage())
                .toList();
    }

    @Override
    public void close() {
        driver.quit();
    }
}
