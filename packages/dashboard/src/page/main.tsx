// Starts the page.
import { render } from "preact";
import { App } from "./app.tsx";
import { loadSettings, PageContext, startClock } from "./page-state.ts";
import { startLivePicture } from "./live-picture.ts";
import { startNavigation } from "./route.ts";
import "./style/index.css";

const clock = startClock();
const settings = loadSettings();
// Takes the secret out of the address, so it comes before anybody reads the address.
const live = startLivePicture(clock);
const navigation = startNavigation();
const root = document.getElementById("page");
if (root === null) throw new Error("starting the page: index.html has no element with the id page");
render(
  <PageContext.Provider value={{ live, clock, navigation, settings }}>
    <App />
  </PageContext.Provider>,
  root,
);
