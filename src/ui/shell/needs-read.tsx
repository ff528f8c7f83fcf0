import { Title } from '@mantine/core'
import { useLocation } from 'wouter'
import { MissingScope } from '../parts/scopes.tsx'
import { isIn, SECTIONS } from './navigation.ts'

/** Stands for any page that reads, where whoever is signed in may not. */
export function NeedsRead() {
  const [address] = useLocation()
  return (
    <>
      <Title order={1} mb="sm">
        {SECTIONS.find(({ path }) => isIn(path, address))?.label ?? 'Countersign'}
      </Title>
      <MissingScope scope="read">You cannot read anything here with your key</MissingScope>
    </>
  )
}
