/** A template, as the API shows it. */
export type Push = {
  id: string
  name: string
  title: string
  body: string
  image_url: string | null
  deep_link: string | null
  data: Record<string, string>
  integration_id: string | null
  created_at: string
  updated_at: string
}

export type PushInput = Omit<Push, 'id' | 'created_at' | 'updated_at'>

export const PUSH_COLUMNS = 'id, name, title, body, image_url, deep_link, data, integration_id, created_at, updated_at'

/** In the order of the columns after the id. */
export const valuesOf = ({ name, title, body, image_url, deep_link, data, integration_id }: PushInput): unknown[] => [
  name,
  title,
  body,
  image_url,
  deep_link,
  JSON.stringify(data),
  integration_id,
]
