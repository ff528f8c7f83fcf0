import { Skeleton } from '@mantine/core'
import { lazy, Suspense } from 'react'
import type { SchemaFormProps } from './schema-form.tsx'

/*
 * The form, in a chunk that loads shortly before a reviewer needs it.
 */

const load = () => import('./schema-form.tsx')

const Form = lazy(async () => ({ default: (await load()).SchemaForm }))

/** Preloads the form. */
export const loadForm = (): Promise<unknown> => load()

export const SchemaForm = (props: SchemaFormProps) => (
  <Suspense fallback={<Skeleton h="16rem" />}>
    <Form {...props} />
  </Suspense>
)
