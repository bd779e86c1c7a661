// Keeps the servers of the MCP conformance suite on 127.0.0.1: they listen on every address, and name themselves localhost,
// which Fleetwatch takes for no address of the simulator. Nothing else of the suite is changed.
//
// Usage: node --import .../on_this_machine.mjs .../conformance/dist/index.js WORDS... (Node 22.15 or newer).
import dns from "node:dns";
import { registerHooks } from "node:module";
import net from "node:net";

const HERE = "127.0.0.1";

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (url.endsWith("/conformance/dist/index.js")) {
      loaded.source = String(loaded.source).replaceAll("http://localhost:", `http://${HERE}:`);
    }
    return loaded;
  },
});

const lookup = dns.lookup;
// The suite asks for its port right after it listens, so this address must be found at once.
dns.lookup = (host, ...rest) => {
  if (host !== HERE) return lookup(host, ...rest);
  const [answer, all] = [rest.at(-1), rest[0]?.all];
  return all ? answer(null, [{ address: HERE, family: 4 }]) : answer(null, HERE, 4);
};

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  const everywhere = typeof port === "number" && typeof rest[0] !== "string";
  return listen.call(this, port, ...(everywhere ? [HERE] : []), ...rest);
};
