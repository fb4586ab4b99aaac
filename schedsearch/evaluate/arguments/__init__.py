"""What is a procedure called with: sizes, shapes and strides that satisfy its asserts?"""
