/**
 * Runs in every page before its own scripts: when a chart was asked for, answered, read and painted, and when another page was there. `look`
 * begins a measurement; the click that follows, when the button is let go, is its beginning.
 */
export const IN_PAGE = `{
  let seen = { from: 0 }
  const painted = then => requestAnimationFrame(() => {
    const channel = new MessageChannel()
    channel.port1.onmessage = () => then(performance.now())
    channel.port2.postMessage(0)
  })
  const parse = JSON.parse
  JSON.parse = (text, ...more) => {
    const at = performance.now()
    const value = parse(text, ...more)
    if (value?.object === 'analytics_chart') Object.assign(seen, { parse: performance.now() - at, parsedAt: performance.now() })
    return value
  }
  const isOfChart = node => node.nodeType === 1 && (node.closest('.chart-canvas') !== null || node.querySelector('.chart-canvas svg') !== null)
  const changed = records => {
    if (seen.from !== undefined && seen.parsedAt !== undefined && seen.drawing === undefined
        && records.some(({ target, addedNodes }) => isOfChart(target) && document.querySelector('.chart-canvas svg') || [...addedNodes].some(isOfChart))) {
      const mine = seen
      mine.drawing = true
      painted(at => { mine.drawnAt = at })
    }
    if (seen.title === undefined) return
    const mine = seen
    const isThere = document.querySelector('#page-title')?.textContent === seen.title
    if (isThere && !mine.framed) {
      mine.framed = true
      painted(at => { mine.framedAt = at })
    }
  }
  new MutationObserver(changed).observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
  addEventListener('click', () => { if (seen.from === undefined) seen.from = performance.now() }, { capture: true })
  const longTasks = []
  new PerformanceObserver(list => longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' })
  performance.setResourceTimingBufferSize(2000)
  window.bench = {
    look: title => { seen = { title }; performance.clearResourceTimings() },
    when: name => new Promise((done, fail) => {
      const end = performance.now() + 60000
      const look = () => seen[name] !== undefined ? done(seen)
        : performance.now() > end ? fail(new Error(name + ' did not come: ' + JSON.stringify(seen))) : setTimeout(look, 5)
      look()
    }),
    answer: () => {
      const entry = performance.getEntriesByType('resource').filter(({ name }) => /v4\\/analytics\\/charts\\/[a-z-]+\\?/.test(name)).at(-1)
      return entry && { asked: entry.startTime, answer: entry.responseEnd - entry.startTime }
    },
    longTasks: () => longTasks.splice(0),
  }
}`
