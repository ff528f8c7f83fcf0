import { Badge } from '@mantine/core'
import type { DatasetItem } from '../api/wire.ts'
import { IconBan, IconHistory } from '../icons/index.ts'

/** Why experiments leave an item out, if they do. */
export const ItemMarks = ({ item: { stale, excluded, note } }: { item: DatasetItem }) => (
  <>
    {excluded && (
      <Badge variant="default" size="sm" tt="none" leftSection={<IconBan size={12} aria-hidden />} title={note ?? ''}>
        Excluded
      </Badge>
    )}
    {stale && (
      <Badge
        variant="default"
        size="sm"
        tt="none"
        leftSection={<IconHistory size={12} aria-hidden />}
        title="The output changed after its review. By default, experiments leave this item out."
      >
        Output changed
      </Badge>
    )}
  </>
)
