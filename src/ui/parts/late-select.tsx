import { Input, type SelectProps } from '@mantine/core'
import { lazy, Suspense } from 'react'

const Select = lazy(async () => ({ default: (await import('./select.tsx')).Select }))

/** Mantine's select, which loads on first use. Until then, an empty field of the same size takes its place. */
export const LateSelect = (props: SelectProps<string>) => (
  <Suspense fallback={<Blank {...props} />}>
    <Select {...props} />
  </Suspense>
)

const Blank = ({ label, description, size = 'sm', w, className }: SelectProps<string>) => (
  <Input.Wrapper
    label={label}
    description={description}
    size={size}
    {...(w !== undefined && { w })}
    className={className}
  >
    <Input component="div" size={size} />
  </Input.Wrapper>
)
