import { Group, Skeleton } from '@mantine/core'
import classes from './filter-bar.module.css'

/** Takes the space of the filters until they load. */
export const FilterBarBlank = () => (
  <Group gap="xs" wrap="nowrap" flex="1 1 auto" aria-hidden>
    <Skeleton h={30} className={classes.field} />
    <Skeleton h={30} className={classes.field} />
    <Skeleton h={30} className={classes.field} />
  </Group>
)
