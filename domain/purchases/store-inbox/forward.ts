import type { Db } from '../../../store/connect.ts'
import type { StorePlatform } from '../stores/config.ts'

/** Sends a recorded push on to the project's own server; the subject of a run is the number of the notification. */
export const FORWARD_WORKFLOW = { workflow: 'store_forward', version: 1 }

/** `url`: where the project wants its copies now; null: nowhere. */
export type ForwardedPush = {
  platform: StorePlatform
  notificationId: string
  body: Buffer
  contentType: string | null
  url: string | null
}

/** The push of a forwarding run; null: it has been removed. */
export async function loadForwardedPush(db: Db, subject: string): Promise<ForwardedPush | null> {
  const { rows } = await db.query<ForwardedPush>({
    name: 'load-forwarded-push',
    text: `select i.platform, i.notification_id as "notificationId", i.body, i.content_type as "contentType",
             case i.platform when 'apple' then p.proxy_url when 'google' then p.rtdn_proxy_url end as url
           from store_inbox i join projects p on p.id = i.project where i.id = $1`,
    values: [Number(subject)],
  })
  return rows[0] ?? null
}
