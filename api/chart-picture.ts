import type Koa from 'koa'
import type { Secrets } from '../domain/projects/secrets.ts'
import { findDownload, isSignatureOf } from '../domain/reporting/exports/export.ts'
import type { ChartDrawing } from '../domain/reporting/reports/chart-drawing.ts'
import { figuresOfFile } from '../domain/reporting/reports/chart-runs.ts'
import type { Pool } from '../store/connect.ts'
import { takingTurns } from '../store/taking-turns.ts'
import { Problem } from './errors.ts'

type PictureDeps = { pool: Pool; secrets: Secrets; drawing: ChartDrawing }

const ADDRESS = /^\/files\/exports\/([A-Za-z0-9_-]{32})\/charts\/([1-6])\.png$/
/** Pictures that are drawn at the same time. */
const AT_ONCE = 2

/**
 * The picture of a chart of a report, for programs that show pictures by their address. The signature is that of the file, which has the same figures. False:
 * the address is another one.
 */
export function chartPictures({ pool, secrets, drawing }: PictureDeps): (ctx: Koa.Context) => Promise<boolean> {
  const inTurn = takingTurns(AT_ONCE)
  const missing = () => new Problem('not_found', 'picture not found')
  return async ctx => {
    const [, id, number] = ADDRESS.exec(ctx.path) ?? []
    if (id === undefined) return false
    const file = await inTurn(0, () => findDownload(pool, id))
    const given = new URLSearchParams(ctx.querystring).get('signature') ?? ''
    if (!file || !isSignatureOf(secrets, file, given)) throw missing()
    const png = await inTurn(0, async () => {
      const figures = await figuresOfFile(pool, id)
      const figure = figures?.figures[Number(number) - 1]
      return figures && figure ? drawing.png({ figure, zone: figures.zone, id: `chart-${number}` }) : null
    })
    if (!png) throw missing()
    // The figures of a run never change.
    ctx.set({ 'Cache-Control': 'private, max-age=86400', 'X-Content-Type-Options': 'nosniff' })
    ctx.type = 'image/png'
    ctx.body = Buffer.from(png)
    return true
  }
}
