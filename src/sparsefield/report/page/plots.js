"use strict";
// The plots beside the network: the trace, the choice of the penalty, and what resamples and subsamples say.
(() => {
  const { literal, percent } = Page;
  const { trace, choice, intervals, stability } = Page.data;
  const CONFIG = { displaylogo: false, responsive: true };
  const BLUE = "#1f5fa8", RED = "#b3202c", GREEN = "#4d9221", ORANGE = "#c2410c", GREY = "#9a9a9a", BLACK = "#111111";
  const LONGEST = 24;
  const LEGEND = { orientation: "h", y: 1.02, yanchor: "bottom", traceorder: "normal" };

  function drawTrace() {
    const line = (y, name, color, dash) => ({ type: "scatter", mode: "lines+markers", x: trace.iteration, y, name, line: { color, dash } });
    const traces = [line(trace.violation, "penalised gradient", BLUE, "solid"), line(trace.noise, "its noise", GREY, "dot")];
    if (trace.certificate.some((value) => value !== null)) {
      // Rounded up, as bounds are: plotly would round them to the nearest number.
      const bounds = line(trace.certificate, "certificate: its bias is at most", RED, "solid");
      traces.push({ ...bounds, customdata: trace.bound, hovertemplate: "%{x}: %{customdata}" });
    }
    traces.push({ ...line(trace.sweeps, "sweeps", GREEN, "dash"), yaxis: "y2" });
    Plotly.newPlot("trace", traces, {
      margin: { l: 60, r: 60, t: 8, b: 40 }, xaxis: { title: { text: "iteration" }, dtick: trace.iteration.length <= 20 ? 1 : undefined },
      yaxis: { type: "log", title: { text: "L2 norm" }, exponentformat: "power" },
      yaxis2: { overlaying: "y", side: "right", rangemode: "tozero", tickmode: "auto", type: "linear", title: { text: "sweeps" }, showgrid: false },
      legend: { orientation: "h", y: 1.12 },
    }, CONFIG);
  }

  // Two lines with the room between them filled.
  function band(x, low, high, color, name) {
    const side = { type: "scatter", mode: "lines", x, line: { width: 0 }, hoverinfo: "skip", showlegend: false };
    const fill = { fill: "tonexty", fillcolor: color + "26", name, showlegend: name !== null };
    return [{ ...side, y: low }, { ...side, y: high, ...fill }];
  }

  // 1, 2 and 5 times powers of ten; all penalties where these would be fewer than two.
  function roundAlphas(alphas) {
    const [least, most] = [Math.min(...alphas), Math.max(...alphas)];
    const found = [];
    for (let power = Math.floor(Math.log10(least)); power <= Math.log10(most); power += 1) {
      found.push(...[1, 2, 5].map((k) => Number(`${k}e${power}`)).filter((own) => own >= least && own <= most));
    }
    return found.length > 1 ? found : alphas;
  }

  function drawChoice() {
    const { alpha, value, low, high } = choice;
    const traces = low === null ? [] : band(alpha, low, high, BLUE, choice.error_name);
    traces.push({ type: "scatter", mode: "lines+markers", x: alpha, y: value, name: choice.value_name, line: { color: BLUE } });
    const ends = (low ?? value).concat(high ?? value, choice.threshold ?? []);
    const line = { type: "scatter", mode: "lines", hoverinfo: "name" };
    if (choice.threshold !== null) {
      traces.push({ ...line, x: [alpha[0], alpha[alpha.length - 1]], y: [choice.threshold, choice.threshold], name: choice.threshold_name, line: { color: RED, dash: "dash" } });
    }
    if (choice.chosen !== null) {
      const name = `chosen: ${Number(choice.chosen.toPrecision(3))}`;
      traces.push({ ...line, x: [choice.chosen, choice.chosen], y: [Math.min(...ends), Math.max(...ends)], name, line: { color: BLACK, dash: "dot" } });
    }
    traces.push({ type: "scatter", mode: "lines", x: alpha, y: choice.edges, name: "edges", yaxis: "y2", line: { color: GREEN, dash: "dash" } });
    Plotly.newPlot("choice-plot", traces, {
      margin: { l: 70, r: 60, t: 8, b: 40 }, legend: LEGEND,
      xaxis: { type: "log", autorange: "reversed", title: { text: "alpha" }, tickvals: roundAlphas(alpha) },
      yaxis: { title: { text: choice.value_name }, exponentformat: "none", zeroline: false },
      yaxis2: { overlaying: "y", side: "right", rangemode: "tozero", tickmode: "auto", title: { text: "edges" }, showgrid: false },
    }, CONFIG);
  }

  function drawIntervals() {
    const cut = (name) => (name.length <= LONGEST ? name : `${name.slice(0, LONGEST - 1)}…`);
    const places = intervals.map((_, k) => k);
    const names = intervals.map(([first, second]) => `${literal(first)} – ${literal(second)}`);
    const texts = intervals.map(([, , weight, share, low, high], k) =>
      `${names[k]}: ${weight.toPrecision(3)} (95%: ${low.toPrecision(3)} to ${high.toPrecision(3)}), found in ${percent(share)}`);
    const bars = {
      type: "scatter", mode: "lines", name: "95% of the resamples", hoverinfo: "skip", line: { color: "#9db8d9", width: 5 },
      x: intervals.flatMap(([, , , , low, high]) => [low, high, null]), y: places.flatMap((k) => [k, k, null]),
    };
    const dots = {
      type: "scatter", mode: "markers", name: "weight in the fit", marker: { color: BLUE, size: 7 }, yaxis: "y2",
      x: intervals.map(([, , weight]) => weight), y: places, text: texts, hoverinfo: "text",
    };
    const ends = intervals.flatMap(([, , weight, , low, high]) => [weight, low, high]).concat(0);
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    const room = 0.03 * (most - least);
    const rows = { tickvals: places, range: [intervals.length - 0.4, -0.6], automargin: true, zeroline: false, fixedrange: true };
    Plotly.newPlot("intervals-plot", [bars, dots], {
      height: 110 + 20 * intervals.length, margin: { l: 8, r: 8, t: 8, b: 40 }, hovermode: "closest",
      legend: LEGEND, xaxis: { title: { text: "weight" }, range: [least - room, most + room] },
      yaxis: { ...rows, ticktext: intervals.map(([first, second]) => `${literal(cut(first))} – ${literal(cut(second))}`) },
      yaxis2: { ...rows, overlaying: "y", side: "right", showgrid: false, ticktext: intervals.map(([, , , share]) => literal(percent(share))), title: { text: "found in" } },
    }, CONFIG);
  }

  function drawStability() {
    const { shares, curves, reached } = stability;
    const colors = [BLUE, ORANGE];
    const traces = curves.flatMap((curve, k) => [
      ...band(shares, curve.low, curve.high, colors[k], null),
      { type: "scatter", mode: "lines+markers", x: shares, y: curve.mean, name: curve.name, line: { color: colors[k] } },
    ]);
    traces.push({
      type: "scatter", mode: "lines", x: [shares[0], shares[shares.length - 1]], y: [reached, reached], hoverinfo: "skip",
      name: `${reached}: what CS coefficients ask for`, line: { color: GREY, dash: "dash" },
    });
    Plotly.newPlot("stability-plot", traces, {
      margin: { l: 60, r: 20, t: 8, b: 40 }, legend: LEGEND,
      xaxis: { autorange: "reversed", title: { text: "rows kept" }, tickvals: shares, tickformat: ".3~p" },
      yaxis: { title: { text: "correlation with the fit of all rows" }, rangemode: "tozero" },
    }, CONFIG);
  }

  drawTrace();
  if (choice) drawChoice();
  if (intervals && intervals.length) drawIntervals();
  if (stability) drawStability();
})();
