import type { Push, PushInput } from '../../../../clients/typescript/src/index.ts'
import { t } from '../../parts/t.ts'

/** Texts as they are typed; data as rows in their order. */
export type Draft = {
  name: string
  title: string
  body: string
  image_url: string
  deep_link: string
  data: readonly (readonly [key: string, value: string])[]
  integration_id: string | null
}

export const NEW: Draft = { name: '', title: '', body: '', image_url: '', deep_link: '', data: [], integration_id: null }

export const draftOf = ({ name, title, body, image_url, deep_link, data, integration_id }: Push): Draft => ({
  ...{ name, title, body, integration_id },
  image_url: image_url ?? '',
  deep_link: deep_link ?? '',
  data: Object.entries(data),
})

/** The whole template is stored. */
export const bodyOf = ({ name, title, body, image_url, deep_link, data, integration_id }: Draft): PushInput => ({
  ...{ name: name.trim(), title, body, integration_id },
  image_url: image_url.trim() || null,
  deep_link: deep_link.trim() || null,
  data: Object.fromEntries(data.filter(([key]) => key.trim() !== '').map(([key, value]) => [key.trim(), value])),
})

export const isReady = ({ name, body, data }: Draft): boolean =>
  name.trim() !== '' && body !== '' && twice(data) === undefined && !data.some(isNameless)

/** A value without a name, which would silently be left out. */
export const isNameless = ([key, value]: Draft['data'][number]): boolean => key.trim() === '' && value !== ''

/** A key that stands in two rows: the second one would silently replace the first. */
export const twice = (data: Draft['data']): string | undefined => {
  const keys = data.map(([key]) => key.trim()).filter(key => key !== '')
  return keys.find((key, at) => keys.indexOf(key) !== at)
}

export const FIELDS = {
  name: t('Name'),
  title: t('Title'),
  body: t('Text'),
  image_url: t('Picture'),
  deep_link: t('A tap leads to'),
  data: t('Data for the app'),
  integration_id: t('Sent through'),
}

/** As differences tell it. */
export const inWords = (push: Push) => ({
  ...push,
  data: Object.entries(push.data)
    .map(([key, value]) => `${key}: ${value}`)
    .join(', '),
})
