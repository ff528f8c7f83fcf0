import { Anchor, Text, Title } from '@mantine/core'
import { Link } from 'wouter'

export const NotFound = () => (
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
