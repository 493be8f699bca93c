import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { ChartDrawing, DrawnChart } from '../../domain/reporting/reports/chart-drawing.ts'
import { builtFolder } from './build.ts'

/** What the build of the console makes for a process without a browser (`web/console/server.tsx`). */
type Look = { zone: string; id: string; title: string; size: 'page' | 'mail' }
type Built = { sheetOf(chart: unknown, look: Look): string }
type Resvg = { renderAsync(svg: string, options: object): Promise<{ asPng(): Uint8Array }> }

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FONT = 'Inter Variable'
/** Pixels for one of the picture: screens have two, but twice the pixels are twice the bytes of a mail. */
const ZOOM = 1.75

/** A report without a picture is better than none: what fails here fails at every repeat. */
const orNothing =
  <Drawn>(draw: (chart: DrawnChart) => Promise<Drawn | null>) =>
  (chart: DrawnChart): Promise<Drawn | null> =>
    draw(chart).catch(() => null)

/** A package that may be missing; its exports are CommonJS, which Deno loads only so. */
function resvg(): Resvg | null {
  try {
    return createRequire(import.meta.url)('@resvg/resvg-js') as Resvg
  } catch {
    return null
  }
}

/**
 * Draws by the build of the console under `root`, which is loaded with the first picture: 300 kB of script that most processes never need. A build that is not
 * there yet is looked for again with the next picture.
 */
export function consoleDrawing(root = ROOT): ChartDrawing {
  const folder = builtFolder(root)
  const server = join(folder, 'server.js')
  let built: Promise<Built> | undefined
  let pixels: Resvg | null | undefined
  const load = (): Promise<Built> | null => {
    if (!built && !existsSync(server)) return null
    built ??= import(pathToFileURL(server).href) as Promise<Built>
    built.catch(() => {
      built = undefined
    })
    return built
  }
  const sheet = ({ sheetOf }: Built, { figure, zone, id }: DrawnChart, size: Look['size']) =>
    sheetOf(figure.answer, { zone, id, title: figure.title, size })
  return {
    svg: orNothing(async chart => {
      const drawing = await load()
      return drawing ? sheet(drawing, chart, 'page') : null
    }),
    png: orNothing(async chart => {
      pixels ??= resvg()
      const drawing = pixels && (await load())
      if (!pixels || !drawing) return null
      const svg = sheet(drawing, chart, 'mail')
      await setImmediate()
      const font = { loadSystemFonts: false, fontFiles: [join(folder, 'inter.ttf')], defaultFontFamily: FONT }
      // In another thread. Only the pixels are packed in this one.
      const drawn = await pixels.renderAsync(svg, { font, fitTo: { mode: 'zoom', value: ZOOM } })
      return drawn.asPng()
    }),
  }
}
