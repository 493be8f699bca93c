import type { TestApi } from '../api.ts'
import type { Told } from './tell.ts'
import { HOSTILE, LONGEST } from './texts.ts'

/** Screens and pushes with such texts; the last draft would replace another screen of its context. */
export async function tellScreens(api: TestApi): Promise<Pick<Told, 'screen' | 'push'>> {
  let [screen, push] = ['', '']
  for (const text of [...HOSTILE, 'w'.repeat(255)]) {
    screen = (await api.call('POST', '/v4/screens', { body: { name: text } })).body.id
    const content = {
      [text]: text,
      html: `<p style="color:red" title="${text}">${text}</p><script>document.title='stolen'</script>`,
      long: LONGEST,
    }
    await api.pool.query(
      `update screens set context_key = $2, background = $3, default_lang = $3, content = $4, used = $5, type = 'paywall' where id = $1`,
      [screen, LONGEST.slice(0, 256), text.slice(0, 256), JSON.stringify(content), HOSTILE],
    )
    // What is published is an annotation of charts, where the sign would turn round the words behind the name.
    if (!text.includes('\u202E') && text !== 'w'.repeat(255)) await api.call('POST', `/v4/screens/${screen}/publish`)
    const more = {
      image_url: text,
      deep_link: LONGEST,
      data: JSON.parse(`{${JSON.stringify(text)}: ${JSON.stringify(text)}, "long": ${JSON.stringify(LONGEST)}}`),
    }
    push = (await api.call('POST', '/v4/pushes', { body: { name: text, title: text, body: text, ...more } })).body.id
    const data = { initiators: [{ uid: 'note_1', type: 'event' }], actions: { push } }
    await api.call('POST', '/v4/automations', { body: { name: text, status: 'active', data } })
  }
  return { screen, push }
}
