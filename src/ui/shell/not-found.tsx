import { Anchor, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import { usePageTitle } from '../parts/use-page-title.ts'

export function NotFound() {
  usePageTitle('Page not found')
  return (
    <>
      <Title order={1}>Page not found</Title>
      <Text mt="sm">
        Go to{' '}
        <Anchor component={Link} href="/traces" underline="always">
          traces
        </Anchor>
        .
      </Text>
    </>
  )
}
