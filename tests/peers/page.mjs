// The approval page in a real browser, as a person uses it. What was seen goes to standard output as one JSON object;
// the Rust suite judges it. Anything that does not go as a person would expect ends this with an error.
//
// Usage: node page.mjs NODE_FOLDER STORY; one line of JSON on standard input says where to go:
// {"page", "secret", "pin", "numbers", "room", "shots"}, and for the story of all pages "code" and "clocks".

import { createRequire } from "node:module";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [nodeFolder, story] = process.argv.slice(2);
const require = createRequire(join(nodeFolder, "page.mjs"));
const { chromium } = require("playwright-core");
const axe = require("axe-core").source;
const { page: home, secret, pin, numbers, room, shots, code, clocks } = JSON.parse(readFileSync(0, "utf8"));

// A little more than a card must have been on screen.
const READING = 2100;
const WIDTHS = [360, 768, 1280];
const SCHEMES = ["light", "dark"];

const seen = { pages: {}, origins: [], complaints: [] };

function watch(page) {
  page.on("request", (request) => {
    const origin = new URL(request.url()).origin;
    if (!seen.origins.includes(origin)) seen.origins.push(origin);
  });
  page.on("console", (message) => {
    // An answer that is no 200 is a line in the console; the stories ask for some of those.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) {
      seen.complaints.push(message.text());
    }
  });
  page.on("pageerror", (error) => seen.complaints.push(String(error)));
}

const focused = (page) =>
  page.evaluate(() => {
    const element = document.activeElement;
    return element === document.body ? "" : element.id || element.textContent.trim();
  });

// What has the focus when a page has come up: the browser gives it when it draws the page, a little after loading it.
async function focusedFirst(page) {
  const given = () => document.activeElement !== document.body;
  await page.waitForFunction(given, null, { timeout: 5000 }).catch(() => {});
  return focused(page);
}

// Whether the element is in view, and whether a click on its middle would reach it.
const inView = (page, selector) =>
  page.evaluate((wanted) => {
    const element = document.querySelector(wanted);
    if (!element) return null;
    const box = element.getBoundingClientRect();
    const whole = box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
    const top = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    return whole && (top === element || element.contains(top));
  }, selector);

async function violations(page) {
  await page.evaluate(`window.axe || (() => {${axe}})()`);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`);
}

// The whole page on a screen as high as it is: a bar that sticks to the screen's edge is then where it belongs.
async function picture(page, name, width) {
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width, height });
  await page.screenshot({ path: join(shots, `${name}.png`) });
}

// One page at every width in both schemes, and at twice the text: pictures, what overflows, what axe finds.
async function look(page, name, withPictures = true) {
  const found = { title: await page.title(), wide: [], axe: [], denyHidden: [], zoomed: await zoomed(page) };
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme });
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate(() => scrollTo(0, 0));
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) found.wide.push(`${width}: ${over}`);
      if ((await inView(page, ".denybar button.deny")) === false) found.denyHidden.push(`${width} ${colorScheme}`);
      // Dark differs in its colours alone, which no width changes.
      if (colorScheme === "light" || width === 1280) {
        found.axe.push(...(await violations(page)).map((one) => `${width} ${colorScheme}: ${one}`));
      }
      if (withPictures) await picture(page, `${name}-${width}-${colorScheme}`, width);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 360, height: 640 });
  await page.evaluate(() => scrollTo(0, 0));
  if (withPictures) await page.screenshot({ path: join(shots, `${name}-phone.png`) });
  await page.setViewportSize({ width: 1280, height: 800 });
  seen.pages[name] = found;
}

// The small screen is where a bar that stays in view could cover what a person wants to press.
async function reachable(page, selector) {
  await page.setViewportSize({ width: 360, height: 640 });
  const element = page.locator(selector);
  await element.scrollIntoViewIfNeeded();
  const there = await inView(page, selector);
  const denyToo = await inView(page, ".denybar button.deny");
  await page.setViewportSize({ width: 1280, height: 800 });
  return { there, denyToo };
}

async function logIn(page) {
  await page.locator("#secret").fill(secret);
  await page.locator("#pin").fill(pin);
  await page.locator("button.main").click();
}

async function outcome(page) {
  await page.waitForURL(/\/outcome\/\d+$/);
  return {
    verdict: (await page.locator(".verdict").textContent()).trim(),
    facts: (await page.locator("table.facts").first().innerText()).trim(),
  };
}

async function withScript(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-US" });
  const page = await context.newPage();
  watch(page);

  await page.goto(home);
  seen.login = { focus: await focusedFirst(page) };
  await look(page, "login");
  await logIn(page);
  await page.waitForURL(home);
  const cookies = await context.cookies();
  seen.cookies = cookies.map(({ httpOnly, sameSite, value }) => ({ httpOnly, sameSite, length: value.length }));
  seen.cookieInScript = await page.evaluate(() => document.cookie);
  seen.queue = { entries: await page.locator("ol.queue a").allInnerTexts() };
  await look(page, "queue");

  // A yes that comes before anybody can have read.
  await page.locator(`ol.queue a[href="/card/${numbers.start}"]`).click();
  await page.waitForURL(`${home}card/${numbers.start}`);
  const focus = await focusedFirst(page);
  await page.locator("button.yes").click();
  await page.locator("[role=alert]").waitFor();
  seen.tooSoon = { alert: (await page.locator("[role=alert]").innerText()).trim(), focus: await focusedFirst(page) };
  await look(page, "card-again");

  await page.goto(`${home}card/${numbers.start}`);
  await focusedFirst(page);
  const tabs = [];
  for (let presses = 0; presses < 3; presses += 1) {
    await page.keyboard.press("Tab");
    tabs.push(await focused(page));
  }
  await page.locator("button.deny").focus();
  seen.card = {
    focus,
    tabs,
    heading: (await page.locator("h1").innerText()).trim(),
    text: await page.locator("main").innerText(),
    foot: await page.locator("footer").innerText(),
    buttons: await page.locator("main button").allInnerTexts(),
    approve: await reachable(page, "button.yes"),
    tree: await page.locator("body").ariaSnapshot(),
  };
  await look(page, "card");
  const before = await page.locator("details.why table").first().isVisible();
  await page.locator("details.why summary").click();
  seen.card.why = { before, text: await page.locator("details.why").innerText() };
  await look(page, "card-why");
  await page.waitForTimeout(READING);
  await page.locator("button.yes").click();
  seen.outcome = await outcome(page);
  await look(page, "outcome");
  await page.goBack();
  await page.waitForLoadState();
  seen.back = { path: new URL(page.url()).pathname, buttons: await page.locator("main button").allInnerTexts() };

  // A disruptive change takes a second page, where the room is typed.
  await page.goto(`${home}card/${numbers.reboot}`);
  seen.disruptive = { focus: await focusedFirst(page), buttons: await page.locator("main button").allInnerTexts() };
  await look(page, "card-disruptive");
  await page.waitForTimeout(READING);
  await page.locator("button.yes").click();
  await page.locator("#confirm").waitFor();
  seen.confirm = {
    focus: await focusedFirst(page),
    heading: (await page.locator("h1").innerText()).trim(),
    approve: await reachable(page, "button.yes"),
    tree: await page.locator("body").ariaSnapshot(),
  };
  await look(page, "confirm");
  await page.locator("#confirm").fill("another room");
  await page.locator("button.yes").click();
  await page.locator("[role=alert]").waitFor();
  seen.confirm.alert = (await page.locator("[role=alert]").innerText()).trim();
  await look(page, "confirm-again");
  await page.locator("#confirm").fill(room);
  await page.locator("button.yes").click();
  seen.rebooted = await outcome(page);

  await page.goto(`${home}history`);
  seen.history = { rows: await page.locator("table.list tbody tr").allInnerTexts() };
  await look(page, "history");
  await search(page);
  await undoAndFreeze(page);

  await page.locator("form.out button").click();
  await page.locator("#secret").waitFor();
  seen.out = { cookies: (await context.cookies()).length };
}

async function search(page) {
  const rows = () => page.locator("table.list tbody tr").allInnerTexts();
  await page.locator("#q").fill(room);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\?q=/);
  const url = new URL(page.url());
  seen.search = { path: url.pathname + url.search, rows: await rows() };
  await page.locator("#q").fill("no such thing <b>");
  await page.locator("form.search button").click();
  await page.locator("p.lead").waitFor();
  seen.search.none = await page.locator("main").innerText();
  seen.search.bad = (await page.goto(`${home}history?q=a&all=1`)).status();
}

async function undoAndFreeze(page) {
  await page.goto(`${home}outcome/${numbers.start}`);
  await page.locator("form[action='/undo'] button").click();
  await page.waitForURL(/\/card\/\d+$/);
  seen.undo = {
    focus: await focusedFirst(page),
    heading: (await page.locator("h1").innerText()).trim(),
    text: await page.locator("main").innerText(),
  };
  await look(page, "card-undo");
  await page.waitForTimeout(READING);
  await page.locator("button.yes").click();
  // Stopping a recording is disruptive: the room is typed.
  await page.locator("#confirm").fill(await page.locator("#room bdi").innerText());
  await page.locator("button.yes").click();
  seen.undone = await outcome(page);

  await page.goto(home);
  await page.locator("a[href='/freeze']").click();
  await page.locator("form[action='/freeze'] button").waitFor();
  seen.freeze = { asked: await page.locator("main").innerText() };
  await look(page, "freeze");
  await page.locator("form[action='/freeze'] button").click();
  await page.waitForURL(home);
  seen.freeze.banner = await page.locator("main [role=status]").first().innerText();
  seen.freeze.waiting = await page.locator("ol.queue li").count();
  seen.freeze.links = await page.locator("a[href='/freeze']").count();
  await look(page, "frozen");
}

// Twice the text on the same screen: the viewport is half as wide, each pixel twice as large.
async function zoomed(page) {
  const wide = [];
  for (const width of [1280, 768]) {
    await page.setViewportSize({ width: width / 2, height: 400 });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) wide.push(`${width}: ${over}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  return wide;
}

// Tab until something with this text or id has the focus; every stop must be seen to have it.
async function tabTo(page, wanted) {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(() => {
      const element = document.activeElement;
      if (element === document.body) return null;
      const style = getComputedStyle(element);
      return {
        text: element.textContent.trim(),
        id: element.id,
        ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
      };
    });
    if (!found) continue;
    seen.rings.push(found.ring);
    if (found.id === wanted || found.text === wanted) return found.text || found.id;
  }
  throw new Error(`no Tab leads to ${wanted}`);
}

// Nothing but the keyboard, from signing in to a disruptive change.
async function keyboard(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-US" });
  const page = await context.newPage();
  watch(page);
  seen.rings = [];
  seen.path = [];
  await page.goto(home);
  await focusedFirst(page);
  await page.keyboard.type(secret);
  await page.keyboard.press("Tab");
  await page.keyboard.type(pin);
  await page.keyboard.press("Enter");
  await page.locator("ol.queue").waitFor();
  const entry = await page.locator(`a[href="/card/${numbers.start}"]`).innerText();
  await tabTo(page, await page.locator(`a[href="/card/${numbers.start}"]`).evaluate((link) => link.textContent.trim()));
  if (!entry) throw new Error("an entry without text");
  await page.keyboard.press("Enter");
  await page.locator("button.deny:focus").waitFor();
  seen.cardFocus = await focused(page);
  await page.waitForTimeout(READING);
  seen.path.push(await tabTo(page, "Approve and run"));
  await page.keyboard.press("Enter");
  seen.started = await outcome(page);

  await page.goto(`${home}card/${numbers.reboot}`);
  await page.locator("button.deny:focus").waitFor();
  await page.waitForTimeout(READING);
  seen.path.push(await tabTo(page, "Go on and name the room"));
  await page.keyboard.press("Enter");
  await page.locator("#confirm").waitFor();
  await focusedFirst(page);
  await tabTo(page, "confirm");
  await page.keyboard.type(room);
  seen.path.push(await tabTo(page, "Approve and run"));
  await page.keyboard.press("Enter");
  seen.rebooted = await outcome(page);
}

// The same without script, in Spanish, and by keyboard alone where it counts.
async function withoutScript(browser) {
  const context = await browser.newContext({
    javaScriptEnabled: false,
    locale: "es-ES",
    viewport: { width: 360, height: 640 },
  });
  const page = await context.newPage();
  watch(page);
  await page.goto(`${home}card/${numbers.start}`);
  await logIn(page);
  // Who came for a card lands on it.
  await page.waitForURL(`${home}card/${numbers.start}`);
  seen.card = {
    focus: await page.locator("button:focus").innerText(),
    text: await page.locator("main").innerText(),
    lang: await page.locator("html").getAttribute("lang"),
  };
  await picture(page, "es-card-360", 360);
  await page.setViewportSize({ width: 360, height: 640 });
  await page.waitForTimeout(READING);
  await page.locator("button.yes").click();
  seen.outcome = await outcome(page);
  await picture(page, "es-outcome-360", 360);
  await page.setViewportSize({ width: 360, height: 640 });

  // Enter on a card that was just opened is a no.
  await page.goto(`${home}card/${numbers.deny}`);
  await page.locator("button.deny:focus").waitFor();
  await page.keyboard.press("Enter");
  seen.denied = await outcome(page);

  // Impatience is one yes.
  await page.goto(`${home}card/${numbers.twice}`);
  await page.waitForTimeout(READING);
  await page.locator("button.yes").dblclick({ noWaitAfter: true });
  await page.waitForTimeout(1500);
  await page.goto(`${home}outcome/${numbers.twice}`);
  seen.twice = await outcome(page);
  await page.goto(`${home}history`);
  await picture(page, "es-history-360", 360);
}

// Where people have users of their own, in Spanish.
async function withCode(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "es-ES" });
  const page = await context.newPage();
  watch(page);
  await page.goto(home);
  seen.lang = await page.locator("html").getAttribute("lang");
  await look(page, "es-login-code", false);
  await page.locator("#code").fill("12345678");
  await page.locator("button.main").click();
  await page.locator("[role=alert]").waitFor();
  await look(page, "es-login-code-again", false);
  await page.locator("#code").fill(code);
  await page.locator("button.main").click();
  await page.locator("form.out").waitFor();
  await look(page, "es-queue-empty", false);
}

// The pages that a good day does not show, in Spanish: Deny only, a card shown again, outcomes that are unknown,
// refused and expired, a refusal. The browser's own clock is wrong all the time, each time differently.
async function allPages(browser) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "es-ES" });
  const page = await context.newPage();
  watch(page);
  const show = (name) => look(page, `es-${name}`, false);
  const main = () => page.locator("main").innerText();
  const [before, after] = clocks;
  await page.clock.install({ time: before });
  await page.goto(home);
  await show("login");
  await logIn(page);
  await page.locator("ol.queue").waitFor();
  await show("queue");

  await page.goto(`${home}card/${numbers.denyOnly}`);
  seen.denyOnly = { text: await main(), buttons: await page.locator("main button").allInnerTexts() };
  await show("card-deny-only");

  await page.goto(`${home}card/${numbers.unknown}`);
  await page.locator("button.yes").click();
  await page.locator("[role=alert]").waitFor();
  await show("card-again");
  await page.goto(`${home}card/${numbers.unknown}`);
  seen.early = { clock: await page.evaluate(() => Date.now()), text: await main() };
  await page.clock.setFixedTime(after);
  await page.goto(`${home}card/${numbers.unknown}`);
  seen.late = { clock: await page.evaluate(() => Date.now()), text: await main() };
  await show("card");
  await page.waitForTimeout(READING);
  await page.locator("button.yes").click();
  seen.unknown = await outcome(page);
  await show("outcome-unknown");

  await page.goto(`${home}card/${numbers.refused}`);
  await page.waitForTimeout(READING);
  await page.locator("button.yes").click();
  await page.locator("#confirm").waitFor();
  await show("confirm");
  await page.locator("#confirm").fill(room);
  await page.locator("button.yes").click();
  seen.refused = await outcome(page);
  await show("outcome-refused");

  await page.goto(`${home}outcome/${numbers.expired}`);
  seen.expired = await outcome(page);
  await show("outcome-expired");
  seen.refusal = { status: (await page.goto(`${home}card/999`)).status(), text: await main() };
  await show("refusal");
  await page.goto(`${home}history`);
  await show("history");
}

const STORIES = { "with-script": withScript, "without-script": withoutScript, keyboard, "all-pages": allPages, "with-code": withCode };

mkdirSync(shots, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
try {
  await STORIES[story](browser);
} catch (error) {
  const [page] = browser.contexts().flatMap((context) => context.pages());
  if (page) {
    console.error(`at ${page.url()}`);
    await page.screenshot({ path: join(shots, `failed-${story}.png`) }).catch(() => {});
  }
  throw error;
} finally {
  await browser.close();
}
process.stdout.write(`${JSON.stringify(seen)}\n`);
