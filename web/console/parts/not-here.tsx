import { Card } from './card.tsx'
import { Empty } from './empty.tsx'
import type { IconName } from './icon.tsx'
import { t } from './t.ts'
import { To } from './to.tsx'

/** In the place of what this project and environment do not have. `to`: where `all` of its kind are. */
export const NotHere = ({
  icon,
  title,
  why = t('It was deleted, or belongs to another project or environment.'),
  to,
  all,
}: {
  icon: IconName
  title: string
  why?: string
  to: string
  all: string
}) => (
  <Card>
    <Empty
      icon={icon}
      title={title}
      why={why}
      action={
        <To to={to} className="link">
          {all}
        </To>
      }
    />
  </Card>
)
