import { Fragment } from 'react'

/** Parts of a line with dots between them. A text of data that turns round what stands behind it turns round nothing outside itself. */
export const Dotted = ({ of }: { of: readonly (string | null | undefined | false)[] }) =>
  of
    .filter(part => typeof part === 'string' && part !== '')
    .map((part, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the same text may stand twice
      <Fragment key={at}>
        {at > 0 && ' · '}
        <bdi>{part}</bdi>
      </Fragment>
    ))
