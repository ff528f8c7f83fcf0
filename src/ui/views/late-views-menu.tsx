import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { IconBookmark } from '../icons/index.ts'
import { late } from '../parts/late.tsx'
import { useProject } from '../session/project.ts'
import { viewsQuery } from './queries.ts'
import type { ViewsMenuProps } from './views-menu.tsx'

const Blank = () => (
  <Button size="compact-sm" variant="default" leftSection={<IconBookmark size={14} aria-hidden />} disabled>
    Views
  </Button>
)

const Menu = late(async () => (await import('./views-menu.tsx')).ViewsMenu, Blank)

/** A page's saved views, requested together with the page's data, before the menu itself is loaded. */
export function LateViewsMenu(props: ViewsMenuProps) {
  useQuery(viewsQuery(useProject(), props.page))
  return <Menu {...props} />
}
