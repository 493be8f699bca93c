// Makes the dashboards for Grafana of their definitions; part of `npm run generate`. The results are committed: they are imported as they are.
import { writeFileSync } from 'node:fs'
import { DASHBOARDS, type Dashboard, type Panel } from './definitions.ts'

const COLUMNS = 24
const SOURCE = { type: 'prometheus', uid: '${datasource}' }
const HEIGHTS = { stat: 4, timeseries: 8 }

const thresholds = (red: number | undefined) => ({
  mode: 'absolute',
  steps: [{ color: 'green', value: null }, ...(red === undefined ? [] : [{ color: 'red', value: red }])],
})

const drawn = ({ kind = 'timeseries', red }: Panel) =>
  kind === 'stat'
    ? {
        options: { colorMode: red === undefined ? 'none' : 'value', graphMode: 'none', reduceOptions: { calcs: ['lastNotNull'] } },
        custom: {},
      }
    : {
        options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
        custom: { drawStyle: 'line', fillOpacity: 10, showPoints: 'never', thresholdsStyle: { mode: red === undefined ? 'off' : 'line' } },
      }

function panelOf(panel: Panel, id: number, gridPos: { x: number; y: number; w: number; h: number }) {
  const { options, custom } = drawn(panel)
  return {
    id,
    type: panel.kind ?? 'timeseries',
    title: panel.title,
    description: panel.description ?? '',
    datasource: SOURCE,
    gridPos,
    fieldConfig: { defaults: { unit: panel.unit ?? 'short', min: 0, thresholds: thresholds(panel.red), custom }, overrides: [] },
    options,
    targets: panel.lines.map(([expr, legendFormat], n) => ({
      refId: String.fromCharCode('A'.charCodeAt(0) + n),
      datasource: SOURCE,
      expr,
      legendFormat,
    })),
  }
}

/** Panels from left to right; a row is as high as its highest panel. */
function laidOut(panels: readonly Panel[]) {
  let [x, y, height] = [0, 0, 0]
  return panels.map((panel, n) => {
    const [w, h] = [panel.width ?? COLUMNS, HEIGHTS[panel.kind ?? 'timeseries']]
    if (x + w > COLUMNS) [x, y, height] = [0, y + height, 0]
    const placed = panelOf(panel, n + 1, { x, y, w, h })
    x += w
    height = Math.max(height, h)
    return placed
  })
}

/** A dashboard as Grafana 10 and later import it; the data source is chosen on its page. */
export const dashboardOf = ({ uid, title, description, panels }: Dashboard) => ({
  uid,
  title,
  description,
  tags: ['perennial'],
  schemaVersion: 39,
  editable: true,
  refresh: '30s',
  time: { from: 'now-6h', to: 'now' },
  timezone: 'utc',
  templating: { list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }] },
  annotations: { list: [] },
  links: [{ title: 'Perennial', type: 'dashboards', tags: ['perennial'], asDropdown: true }],
  panels: laidOut(panels),
})

/** The text of each file, by its name. */
export const dashboardFiles = (): Map<string, string> =>
  new Map(DASHBOARDS.map(one => [`${one.uid.replace('perennial-', '')}.json`, `${JSON.stringify(dashboardOf(one), null, 2)}\n`]))

if (import.meta.main) for (const [name, text] of dashboardFiles()) writeFileSync(new URL(name, import.meta.url), text)
