import { Title } from '@mantine/core'
import { useLocation } from 'wouter'
import { MissingScope } from '../parts/scopes.tsx'
import { isIn, sectionsFor } from './navigation.ts'

/** Replaces pages that need the read scope. */
export function NeedsRead() {
  const [address] = useLocation()
  return (
    <>
      <Title order={1} mb="sm">
        {sectionsFor({ isAdjudicator: true, mayCompare: true }).find(({ path }) => isIn(path, address))?.label ??
          'Countersign'}
      </Title>
      <MissingScope scope="read">You don't have access to this page</MissingScope>
    </>
  )
}
