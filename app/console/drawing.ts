import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { ChartDrawing, DrawnChart } from '../../workflows/report-charts/drawing.ts'
import { builtFolder } from './build.ts'

/** What the build of the console makes for a process without a browser (`web/console/server.tsx`). */
type Built = {
  svgOf(chart: unknown, look: { zone: string; id: string }): string
  sheetOf(chart: unknown, look: { zone: string; id: string; title: string }): string
}
type Resvg = { Resvg: new (svg: string, options: object) => { render(): { asPng(): Uint8Array } } }

const FONT = 'Inter Variable'
/** Pixels for one of the picture: screens of phones and of most laptops have two. */
const ZOOM = 2

/** A package that may be missing; its exports are CommonJS, which Deno loads only so. */
function resvg(): Resvg | null {
  try {
    return createRequire(import.meta.url)('@resvg/resvg-js') as Resvg
  } catch {
    return null
  }
}

/**
 * Draws by the build of the console under `root`, which is loaded with the first picture: 1 MB of script that most processes never need. A build that is not
 * there yet is looked for again with the next picture.
 */
export function consoleDrawing(root: string): ChartDrawing {
  const folder = builtFolder(root)
  const server = join(folder, 'server.js')
  let built: Promise<Built> | undefined
  let pixels: Resvg | null | undefined
  const load = (): Promise<Built> | null => {
    if (!built && !existsSync(server)) return null
    built ??= import(pathToFileURL(server).href) as Promise<Built>
    return built
  }
  const inks = ({ zone, id }: DrawnChart) => ({ zone, id })
  return {
    async svg(chart) {
      const drawing = await load()
      return drawing?.svgOf(chart.figure.answer, inks(chart)) ?? null
    },
    async png(chart) {
      pixels ??= resvg()
      const drawing = pixels && (await load())
      if (!pixels || !drawing) return null
      const svg = drawing.sheetOf(chart.figure.answer, { ...inks(chart), title: chart.figure.title })
      await setImmediate()
      const font = { loadSystemFonts: false, fontFiles: [join(folder, 'inter.ttf')], defaultFontFamily: FONT }
      return new pixels.Resvg(svg, { font, fitTo: { mode: 'zoom', value: ZOOM } }).render().asPng()
    },
  }
}
