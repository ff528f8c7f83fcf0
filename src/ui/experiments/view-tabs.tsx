import { Tabs } from '@mantine/core'
import type { PropsWithChildren } from 'react'
import { useSearchParams } from 'wouter'
import { withParameters } from '../parts/parameters.ts'

/** Switches between an experiment's items and its other numbers. */
export function ViewTabs({ children }: PropsWithChildren) {
  const [address, change] = useSearchParams()
  const view = address.get('view') === 'breakdown' ? 'breakdown' : 'items'
  return (
    <Tabs
      value={view}
      onChange={chosen => change(withParameters({ view: chosen === 'breakdown' ? chosen : null }), { replace: true })}
    >
      <Tabs.List>
        <Tabs.Tab value="items">Items</Tabs.Tab>
        <Tabs.Tab value="breakdown">Breakdown</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value={view} pt="sm">
        {children}
      </Tabs.Panel>
    </Tabs>
  )
}
