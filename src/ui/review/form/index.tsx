import { Skeleton } from '@mantine/core'
import { lazy, Suspense } from 'react'
import type { SchemaFormProps } from './schema-form.tsx'

/*
 * The form, whose chunk is loaded when a reviewer is about to need it.
 */

const load = () => import('./schema-form.tsx')

const Form = lazy(async () => ({ default: (await load()).SchemaForm }))

/** Loads what a form needs before it is asked for. */
export const loadForm = (): Promise<unknown> => load()

export const SchemaForm = (props: SchemaFormProps) => (
  <Suspense fallback={<Skeleton h="16rem" />}>
    <Form {...props} />
  </Suspense>
)
