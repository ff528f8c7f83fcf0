import { Anchor, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import { usePageTitle } from '../parts/use-page-title.ts'

export function NotFound() {
  usePageTitle('No such page')
  return (
    <>
      <Title order={1}>There is no such page</Title>
      <Text mt="sm">
        The{' '}
        <Anchor component={Link} href="/traces" underline="always">
          traces
        </Anchor>{' '}
        are here.
      </Text>
    </>
  )
}
