package dev.palisade.monitoring;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.logging.Level;
import java.util.stream.Stream;
import org.awaitility.core.ConditionFactory;
import org.openqa.selenium.By;
import org.openqa.selenium.Keys;
import org.openqa.selenium.OutputType;
import org.openqa.selenium.StaleElementReferenceException;
import org.openqa.selenium.WebElement;
import org.openqa.selenium.chrome.ChromeDriver;
import org.openqa.selenium.chrome.ChromeDriverService;
import org.openqa.selenium.chrome.ChromeOptions;
import org.openqa.selenium.interactions.Actions;
import org.openqa.selenium.logging.LogType;
import org.openqa.selenium.logging.LoggingPreferences;

/** A headless Chromium under its own driver, both from the PATH. */
final class Browser implements AutoCloseable {
    private static final Path IMAGES =
            Path.of(System.getProperty("palisade.root")).resolve("docs/images");

    private static final int TABS_MAX = 40;

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
        options.setAcceptInsecureCerts(true); // Of a server of the test, whose authority this browser does not know.
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

    /** Presses keys where the focus is. */
    void press(CharSequence... keys) {
        new Actions(driver).sendKeys(keys).perform();
    }

    /** Presses Tab until the focused element has that text or is of that selector. */
    void tabTo(String textOrSelector) {
        for (int i = 0; i < TABS_MAX; i++) {
            press(Keys.TAB);
            WebElement focused = driver.switchTo().activeElement();
            if (textOrSelector.equals(focused.getText())
                    || textOrSelector.equals("#" + focused.getDomAttribute("id"))) {
                return;
            }
        }
        throw new AssertionError("Tab does not reach " + textOrSelector);
    }

    /** The id of the focused element; empty if it has none. */
    String focus() {
        return Objects.requireNonNullElse(driver.switchTo().activeElement().getDomAttribute("id"), "");
    }

    /** Whether the page is drawn for dark surroundings. */
    void dark(boolean isDark) {
        Map<String, String> scheme = Map.of("name", "prefers-color-scheme", "value", isDark ? "dark" : "light");
        driver.executeCdpCommand("Emulation.setEmulatedMedia", Map.of("features", List.of(scheme)));
    }

    /** What axe-core finds wrong with the page as it is now, by the rules of WCAG 2.2 A and AA and its best practices; also its contrasts in the dark. */
    List<String> accessibilityProblems() throws IOException {
        if (!Boolean.TRUE.equals(driver.executeScript("return typeof axe === 'object'"))) {
            try (InputStream script = ChromeDriver.class.getResourceAsStream("/axe.min.js")) {
                driver.executeScript(new String(Objects.requireNonNull(script).readAllBytes(), StandardCharsets.UTF_8));
            }
        }
        List<String> problems = new ArrayList<>(violations("{}"));
        dark(true);
        problems.addAll(violations("{runOnly: ['color-contrast']}"));
        dark(false);
        return problems;
    }

    private List<String> violations(String options) {
        Object found = driver.executeAsyncScript("const done = arguments[0];"
                + "axe.run(" + options + ").then(found => done(found.violations.flatMap(rule =>"
                + " rule.nodes.map(node => rule.id + ' ' + node.target + ': ' + node.failureSummary))),"
                + " failure => done([String(failure)]))");
        return ((List<?>) Objects.requireNonNull(found))
                .stream().map(String::valueOf).toList();
    }

    /** For eyes, where asked for by {@code -Dpalisade.screenshots=true}: on a desk and on a phone, in light and dark. */
    void look(String name) throws IOException {
        if (!Boolean.getBoolean("palisade.screenshots")) {
            return;
        }
        Path folder = Files.createDirectories(
                Path.of(System.getProperty("palisade.root")).resolve("integration-tests/target/screenshots"));
        for (boolean isDark : List.of(false, true)) {
            dark(isDark);
            for (int width : List.of(1_000, 360)) {
                resize(width, 1_080);
                Files.write(
                        folder.resolve(name + "-" + width + (isDark ? "-dark" : "") + ".png"),
                        driver.getScreenshotAs(OutputType.BYTES));
            }
        }
        dark(false);
        resize(1_000, 800);
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
