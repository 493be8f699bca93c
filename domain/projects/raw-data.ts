import type { Db } from '../../store/connect.ts'
import { notFound } from '../refusal.ts'

/** Switches raw data (exports, reports) of a project on or off. */
export async function setRawData(db: Db, project: number, on: boolean): Promise<void> {
  const { rowCount } = await db.query('update projects set raw_data = $2 where id = $1', [project, on])
  if (rowCount === 0) throw notFound(`project ${project}`)
}
